// Package oembed asks YouTube's oEmbed service whether a video still exists
// (section 7.4, method 2). One small GET tells a removed video from a stream
// that is not live yet, without starting yt-dlp.
//
//	GET https://www.youtube.com/oembed?url=URL&format=json
//	   ├─ 200 with a title ▶ Known, Exists
//	   ├─ 404 or 400 ──────▶ Known, gone: YouTube answers 404 for an id that never
//	   │                     was and 400 for one that was removed or is malformed;
//	   │                     ours are well-formed (decision A1)
//	   └─ anything else ───▶ not Known: 401 and 403 are private videos and ones
//	                         that may not be embedded, which both exist; 429 and
//	                         5xx, redirects and failures say nothing
//
// The answer is a hint. The watcher decides what it means for a monitor.
package oembed
