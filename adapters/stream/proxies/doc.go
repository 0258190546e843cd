// Package proxies sends the requests about each stream through one of several proxies
// (EGRESS_PROXIES, section 10.3). domain/egress decides through which.
//
//	EGRESS_PROXIES ─▶ Parse ─▶ List ─┬─ Environ: the environment of yt-dlp and streamlink
//	                                 └─ Proxy: of requests for playlists and segments, and of probes
//	                  Chooser ─▶ which address, by its name; told by request.WithEgress
//
// The name of a proxy is its host and port. Its URL may hold a password. It is in the
// environment of the tool that uses it, and neither in arguments nor in logs, errors and the
// API. NO_PROXY applies to every proxy.
package proxies
