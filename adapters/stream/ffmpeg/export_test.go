package ffmpeg

import (
	"bytes"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Parts without a process, for tests with recorded and with made-up bytes.
var Parse = parse

// Container is container, of bytes.
func Container(b []byte, declared string) (string, error) {
	return container(newInput(bytes.NewReader(b), DefaultMaxInput, nil), watch.Segment{Container: declared})
}

// Decode is Analyse without the parsing. It tells what ffmpeg used.
var Decode = (*Analyser).decode
