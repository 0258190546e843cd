// Package youtube is the source YouTube: how yt-dlp and streamlink are asked about it and what its words
// mean, its prober, and its listers of channels. Its row is in domain/monitor.
//
// The prober asks YouTube's oEmbed service whether a video still exists (section 7.4, method 2). One small
// GET distinguishes a removed video from a stream that is not live yet, without starting yt-dlp.
//
//	GET https://www.youtube.com/oembed?url=URL&format=json
//	   ├─ 200 with a title ▶ Known, Exists
//	   ├─ 404 or 400 ──────▶ Known, gone: 404 is an unknown id, 400 a removed or
//	   │                     malformed one; ids are well-formed (decision A1)
//	   └─ anything else ───▶ not Known: 401 and 403 are private videos and ones
//	                         that must not be embedded, which both exist; 429,
//	                         5xx, redirects and failures prove nothing
//
// The watcher decides about the monitor.
package youtube
