// Package icy is the source of audio streams of one's own: Icecast, SHOUTcast, and what speaks like them. Its row is in
// domain/monitor.
//
//	icy+https://HOST/MOUNT
//	  ├─ Resolver ─ one request, a look at its first frames ─▶ live, upcoming, no audio stream, …
//	  └─ Receiver ─ one endless request ─ cutter ─▶ segments of 4 s ─▶ the last minute of them, in memory
//	                                                                     ├─ ReadPlaylist lists them
//	                                                                     └─ FetchSegment returns their bytes
//
// A segment has whole frames of MP3 or AAC, or is a stream of Ogg with whole pages. It is on the timeline of this host: it ended when
// its last byte came.
//
// Guarantees:
//
//   - A stream has one request at a time, beside the Resolver's short ones. Close ends it, and waits.
//   - What the server sends is bounded by the Client of the requests: time, rate, addresses.
//     In memory are keepLength of the stream, at most keepBytes.
//   - Media that a server sends at once when a listener comes are older than now. They are not listed.
//   - A request that ends is made again at once if it has had media, else when the next reading asks for it.
package icy
