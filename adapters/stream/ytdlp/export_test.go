package ytdlp

import "github.com/stream-monitor/stream-monitor/domain/watch"

// Read lets the tests read a run's output without the run.
func Read(videoID string, stdout, stderr []byte) watch.Resolution {
	answer, _ := read(videoID, stdout, stderr)
	return answer
}

// The options of a run, for the test that runs the tool itself.
var (
	DumpJSON      = dumpJSON
	PrintWithDASH = printWithDASH
)
