package ffmpeg

// Parse is parse, for tests with recorded and with made-up output.
var Parse = parse
