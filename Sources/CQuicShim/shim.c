#include "cquicshim.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

unsigned int mq_client_session_flags(void) {
    return GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_ENABLE_RAWPK | GNUTLS_NO_TICKETS | GNUTLS_KEY_SHARE_TOP;
}

unsigned int mq_server_session_flags(void) {
    return GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_ENABLE_RAWPK | GNUTLS_NO_TICKETS | GNUTLS_NO_AUTO_SEND_TICKET;
}

unsigned int mq_client_alpn_flags(void) { return GNUTLS_ALPN_MANDATORY; }

unsigned int mq_server_alpn_flags(void) { return GNUTLS_ALPN_MANDATORY | GNUTLS_ALPN_SERVER_PRECEDENCE; }

unsigned int mq_stream_client_flags(void) { return GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS; }

unsigned int mq_stream_server_flags(void) { return GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS; }

void mq_stream_would_block(void *session) { gnutls_transport_set_errno(session, EAGAIN); }

void mq_free(void *memory) { gnutls_free(memory); }

static _Thread_local uint64_t decrypted_packets;

uint64_t mq_decrypted_packets(void) { return decrypted_packets; }

static int decrypt_and_count(uint8_t *dest, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *context,
                             const uint8_t *ciphertext, size_t ciphertext_length, const uint8_t *nonce,
                             size_t nonce_length, const uint8_t *associated, size_t associated_length) {
    int status = ngtcp2_crypto_decrypt_cb(dest, aead, context, ciphertext, ciphertext_length, nonce, nonce_length,
                                          associated, associated_length);
    if (status == 0) decrypted_packets++;
    return status;
}

void mq_count_decrypted(void *callbacks) { ((ngtcp2_callbacks *)callbacks)->decrypt = decrypt_and_count; }
