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
// One call answers everything, and the rendition is chosen later, by the
// watcher. The options of section 5.3 are not used: the protocol of a live
// format is m3u8_native, so best[protocol^=http] finds none on any live stream;
// no "best" exists where picture and sound come separately; and --no-warnings
// hides why YouTube gave no formats. The exit code does not tell the state
// (with --ignore-no-formats-error a private video exits 0), so it is not read.
//
// What counts, in this order: formats of a stream that is_live; then the reason
// YouTube gives in words, where it says more than live_status; live_status;
// then complaints about the network. Doubt never reads as an end: a stream is
// Ended only when YouTube says that it was live.
package ytdlp
