#ifndef CQUICSHIM_H
#define CQUICSHIM_H

/* What of ngtcp2 and GnuTLS does not import into Swift: flags that are both an enumerator and a macro, and callbacks
 * that need thread-local state. Plain types only, so that no type is owned by two modules. */

#include <stdint.h>

/* Flags for gnutls_init: raw public keys, no tickets, one key share (the first group), nothing that blocks. */
unsigned int mq_client_session_flags(void);
unsigned int mq_server_session_flags(void);

/* Flags for gnutls_alpn_set_protocols. */
unsigned int mq_client_alpn_flags(void);
unsigned int mq_server_alpn_flags(void);

/* Flags for gnutls_init of a TLS connection over a byte stream: X.509, no tickets, nothing that blocks. */
unsigned int mq_stream_client_flags(void);
unsigned int mq_stream_server_flags(void);

/* Tells a gnutls_session_t, from its pull function, that nothing is there to be read yet. */
void mq_stream_would_block(void *session);

/* gnutls_free, which is a variable. */
void mq_free(void *memory);

/* Replaces `decrypt` of an ngtcp2_callbacks with one that counts, per thread, the packets it authenticated. ngtcp2 drops
 * forged packets without a word; the count tells a caller whether the peer itself has just spoken. */
void mq_count_decrypted(void *callbacks);
uint64_t mq_decrypted_packets(void);

#endif
