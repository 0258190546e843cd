// Package youtube is a fake YouTube for the real yt-dlp, the real streamlink and the
// HTTP client of this project.
//
//	tool ──CONNECT www.youtube.com:443──▶ proxy on loopback ──▶ TLS with a throw-away CA
//	                                        │                       │
//	                                        │ any other host        ▼
//	                                        ▼                 watch page, player API, oEmbed, channels, Data API,
//	                                  403, recorded           manifests, playlists, segments
//
// The fakes of other sites, such as test/fake/twitch, answer behind the same proxy ([Server.Host]).
//
// Only environment variables ([Server.Env]) direct a program to the fake, so the
// tests run the shipped binary. No request leaves the machine: a host that is not YouTube's is
// refused and recorded ([Server.RefusedHosts]).
//
// Each [Video] has a [State] that can change while it is watched, and the pages of its [Channel]
// show it. Live media come from a [Source], usually a livestream.Stream, or from an [Origin] with
// any packaging, such as the handler of a livestream.Stream. Media URLs have the form of the real
// ones, expire like them, and answer 403 from then on. Faults are injected by
// class of request.
package youtube
