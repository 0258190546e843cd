package ffmpeg

// Parts without a process, for tests with recorded and with made-up bytes.
var (
	Parse     = parse
	Container = container
)
