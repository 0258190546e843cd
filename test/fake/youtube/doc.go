// Package youtube is a stand-in for YouTube that the real yt-dlp, the real
// streamlink and our own HTTP client take for the real one.
//
//	tool ──CONNECT www.youtube.com:443──▶ proxy on loopback ──▶ TLS with a throw-away CA
//	                                        │                       │
//	                                        │ any other host        ▼
//	                                        ▼                 watch page, player API, oEmbed,
//	                                  403, recorded           manifests, playlists, segments
//
// Only the environment ([Server.Env]) leads a program here, so the tests run what
// is shipped. No request leaves the machine: a host that is not YouTube's is
// refused and recorded ([Server.RefusedHosts]).
//
// Each [Video] has a [State] that can change while it is watched. Live media come
// from a [Source], usually a livestream.Stream, or from an [Origin] with any
// packaging, usually a broadcast.Broadcast. Media URLs have the form of the real
// ones, expire like them, and answer 403 from then on. Faults are injected by
// class of request.
package youtube
