// Package stage is everything that a stream-monitor needs around it to be seen
// at work: a YouTube to watch, streams that misbehave on cue, a receiver of
// webhooks, and the service itself. The acceptance tests and the demonstration
// play on it alike.
//
//	livestream ──▶ youtube ◀── yt-dlp, playlists, segments ── system ── webhooks ──▶ sink
//	    ▲                                                        ▲
//	    └──────────────────────── the play ──────── REST ────────┘
package testenv
