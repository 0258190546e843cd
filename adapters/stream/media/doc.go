// Package media fetches playlists and segments over HTTP from servers that may
// be slow, broken or hostile. It implements worker.SegmentFetcher.
//
//	Get ───────────┐             ┌─ proxied: through the stream's proxy (decision O8)
//	               ├─▶ request ──┤
//	FetchSegment ──┘   budget,   └─ direct: every address is checked before the connection
//	  ├ init section   limits
//	  └ keys
//
// A segment encrypted with AES-128 is decrypted while it is read. Its key is
// fetched under the same limits as the segment: the key server is not trusted either.
//
// Guarantees for every call:
//
//   - It ends. Connecting, the TLS handshake, the response header, each read and the
//     whole call have time limits, and a server that sends fewer than Config.MinRate
//     bytes a second is given up. Only time spent waiting for a server counts: a slow
//     decoder does not make a fetch fail.
//   - It is bounded. Limits count bytes after any content-encoding, and no more of a
//     segment than one buffer is held in memory.
//   - It follows at most MaxRedirects redirects, uses http and https only, with TLS 1.2
//     or newer (decision O6), and sends no Referer: a Referer would reveal a signed URL.
//   - It connects to public addresses only. Each address is checked at each dial, after
//     DNS and after redirects (see adapters/internal/outbound). Through a proxy, which
//     resolves names itself, no internal address is requested.
//   - Its errors are *watch.Failure. They name the host and the status, never the path
//     or the query of a URL: media URLs are signed and therefore secret.
//
// HTTP_PROXY, HTTPS_PROXY and NO_PROXY are honoured unless Config.Proxy decides, and
// SSL_CERT_FILE always.
package media
