// Package ytdlp asks yt-dlp what state a stream is in and where its media
// playlists are (sections 5.1, 7.2 and 7.4, method 1).
//
//	yt-dlp --dump-json … -- URL
//	   │
//	   ├─ did not run to its end ─────────────▶ ToolFailed, Unreachable
//	   ├─ stdout: JSON ─ live_status, formats ┐
//	   └─ stderr: WARNING and ERROR lines ────┴▶ Live with Renditions, Upcoming, Offline, Ended,
//	        read whatever the exit code           NotALiveStream, Private, Removed, RegionLocked,
//	                                              AgeRestricted, MembersOnly; or Blocked, Unreachable
//
// One call answers everything but one thing, and the renditions are chosen
// later, by the watcher. The options of section 5.3 are not used: the protocol of a live
// format is m3u8_native, so best[protocol^=http] finds none on any live stream;
// no "best" exists where picture and sound come separately; and --no-warnings
// hides why YouTube gave no formats. The exit code does not tell the state
// (with --ignore-no-formats-error a private video exits 0), so it is not read.
//
// The one thing is DASH. yt-dlp leaves it out of what it lists of a live stream
// unless asked for incomplete formats, which costs it more requests and prints
// ten times as much. So it is asked a second time, in what is left of the time
// of the first, only when YouTube calls a stream live, there is nothing to watch
// and nobody says why. Of DASH the MPD is given on, not yt-dlp's reading of it.
//
// Formats of a stream whose picture and sound are apart are renditions of one
// of the two. Sound that is a translation, or that the master playlist does not
// call its default, is an alternate.
//
// What counts, in this order: formats of a stream that is_live; then the reason
// YouTube gives in words, where it says more than live_status; live_status;
// then complaints about the network. Doubt never reads as an end: a stream is
// Ended only when YouTube says that it was live.
package ytdlp
