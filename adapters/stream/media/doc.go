// Package media fetches playlists and segments over HTTP from servers that may
// be slow, broken or hostile.
//
//	Get ───────────┐            ┌─ proxied: the proxy of the environment (decision O8)
//	               ├─▶ fetch ───┤
//	FetchSegment ──┘   clock,   └─ direct: past the dial guard
//	  └ section,       limits
//	    keys
//
// What is encrypted with AES-128 is decrypted on its way, with a key that is
// fetched as everything else is: its server is trusted no more.
//
// Guarantees, for every call:
//
//   - it ends: connecting, TLS, the answer's header, each read and the whole have
//     limits of time, and a server that drips bytes below a minimum rate is given
//     up. The clock runs only while a server is waited for, so a decoder that is
//     slow to take a segment is not held against the server;
//   - it is bounded: bytes are counted after any content-encoding, and no more of a
//     segment is held than a buffer;
//   - it follows at most five redirects, speaks http and https only, TLS 1.2 or
//     newer (decision O6), and sends no Referer, which would carry a signed URL;
//   - it reaches the public internet only, judged at every dial after DNS, a
//     redirect's included (see adapters/internal/outbound); through a proxy, which
//     does the looking up, it asks for no internal address;
//   - errors are *watch.Failure, and name the host and the status, never the path
//     or the query of a URL: those of media are secrets.
//
// HTTP_PROXY, HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE are honoured.
package media
