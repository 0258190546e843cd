// Package youtube is a stand-in for YouTube that the real yt-dlp, the real
// streamlink and our own HTTP client take for the real one.
//
//	tool ──CONNECT www.youtube.com:443──▶ proxy on loopback ──▶ TLS with a throw-away CA
//	                                        │                       │
//	                                        │ any other host        ▼
//	                                        ▼                 watch page, player API, oEmbed,
//	                                  403, remembered         manifests, playlists, segments
//
// Nothing but the environment ([YouTube.Env]) leads a program here, so what is
// tested is what is shipped. No request leaves the machine: a host that is not
// YouTube's is refused and remembered ([YouTube.Refused]).
//
// Each [Video] is in a [State] that can be changed while it is being watched.
// Live media come from a [Source], usually a livestream.Stream, or from an
// [Origin] of any shape, usually a broadcast.Broadcast. Media URLs
// have the shape of the real ones, expire like them, and answer 403 from then
// on. A fault can be put before every class of request.
package youtube
