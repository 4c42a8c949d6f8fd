// Puts QUIC under the wire protocols: links, channels, the dialler and the listener.
