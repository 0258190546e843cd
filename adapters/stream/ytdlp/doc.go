// Package ytdlp asks yt-dlp what state a stream is in and where its media
// playlists are (sections 5.1, 7.2 and 7.4, method 1).
//
//	yt-dlp --dump-json … -- URL
//	   │
//	   ├─ did not run to its end ─────────────▶ ToolFailed, Unreachable
//	   ├─ stdout: JSON ─ live_status, formats ┐
//	   └─ stderr: WARNING and ERROR lines ────┴▶ Live with Renditions, Upcoming, Offline, Ended,
//	        read whatever the exit code           NotALiveStream, Private, Removed, RegionLocked,
//	                                              AgeRestricted, MembersOnly; or Blocked, RateLimited,
//	                                              Unreachable
//
// With a jar, the JSON has the values of cookies. Neither stdout nor anything of it but what this package reads is
// logged or stored. What the requests for the media have to carry goes with the answer (watch.RequestHeader).
// It also lists the streams of a channel (List), with --flat-playlist.
//
// Site says what the words of a source mean, and how yt-dlp is asked about it.
//
// A run is a process of the command, or a fork of a process that has loaded yt-dlp (ForkServer).
//
// A stream that needs a login has a cookie jar in its context (section 17.7). Each run gets a copy, a file in memory that no
// other run can open; what it leaves goes back if it ended by itself. A fork gets the file through a socket.
//
// One run answers everything except DASH; the watcher chooses the rendition later.
// The options of section 5.3 are not used. The protocol of a live format is
// m3u8_native, so best[protocol^=http] matches none. No format is "best" if video and
// audio are separate. --no-warnings hides why the site gave no formats. The exit code is
// ignored: with --ignore-no-formats-error a private video exits 0.
//
// yt-dlp lists DASH of a live stream only when asked for incomplete formats, which
// costs more requests and ten times the output. A second run asks for it, within the
// time limit of the first, when the site calls a stream live, lists no media and gives
// no reason. The MPD is passed on, not yt-dlp's reading of it.
//
// Audio that is a translation, or not the default of the master playlist, is an alternate
// rendition.
//
// The order of precedence is: the formats of a stream that is_live; its reason in
// words, if it is more specific than live_status; live_status, unless unknown words may explain
// why there are no media; network errors. A stream is Ended only when the site says that it was
// live.
package ytdlp
