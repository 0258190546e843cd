// Package acceptance proves the whole: the built binary with real yt-dlp,
// streamlink, ffmpeg, PostgreSQL and child processes, on streams that really
// go black and silent. Its tests are timelines with tolerances; an event that
// nobody expected fails them.
package acceptance
