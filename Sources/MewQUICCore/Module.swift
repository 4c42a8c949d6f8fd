// One QUIC connection over ngtcp2 and GnuTLS: datagrams and time in, datagrams and the next deadline out.
