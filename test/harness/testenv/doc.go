// Package testenv runs a gateway with everything that it needs around it: a
// fake YouTube, streams that fail on command, and a webhook receiver.
// The acceptance tests and the demonstration use it.
//
//	livestream ──▶ youtube ◀── yt-dlp, playlists, segments ── gateway ── webhooks ──▶ receiver
//	    ▲                                                        ▲
//	    └──────────────────────── the test ──────── REST ────────┘
package testenv
