package monitor

// ICY is the name of the source of audio streams of one's own: Icecast, SHOUTcast, and what speaks like them.
const ICY SourceName = "icy"

const icyScheme = "icy+"

// icy is the row of audio streams. The scheme tells their URLs from those of a mistyped site, and from other
// streams of one's own (decision A1).
var icy = Source{
	Name:     ICY,
	Title:    "Icecast",
	Studio:   "the status page of the server",
	StudioJa: "配信サーバーのステータスページ",
	Scheme:   icyScheme,
	Accepted: "icy+https://HOST:PORT/MOUNT or icy+http://HOST:PORT/MOUNT for an audio stream of your own (Icecast, SHOUTcast)",
	Prefix:   icyScheme,
	ID:       ownID(icyScheme),

	SecretQuery:  ownQuery,
	TakesHeaders: true,

	AudioOnly: true,
	Lasting:   true,
	Example:   "icy+https://radio.example/live",
}
