// Package own is the source of streams of one's own CDN or server, in HLS and DASH. Its rows are in domain/monitor.
//
//	hls+https://HOST/PATH
//	  ├─ Resolver ─ a look at the manifest and one of its renditions ─▶ live, upcoming, denied, …
//	  └─ Media ─ manifests, segments, keys, init sections ─┐
//	                                                       ▼
//	                                                    session ─ which credentials go with a URL ─▶ Tools.Own ─▶ the servers
//	                                                       └─ asks the token URL when monitor.TokenRenewal says so
//
// No other tool is asked: yt-dlp and streamlink check no address to which they connect.
//
// Guarantees:
//
//   - Credentials are added to a request when it is made, and taken out of what comes back. No URL in a playlist, a segment,
//     a snapshot or a text has them.
//   - The query and the header fields go to the origin of the stream alone, and header fields not after a redirect to another
//     one. Cookies go to the hosts of their domain. The token URL gets header fields by the same rule.
//   - A refusal by the server of the stream is never told as one of whoever asks.
package own
