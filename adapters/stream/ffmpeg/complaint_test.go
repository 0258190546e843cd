package ffmpeg_test

import (
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestAComplaintIsOneReadableLine(t *testing.T) {
	for name, c := range map[string]struct {
		log    string
		detail string
		kind   watch.FailureKind
	}{
		"the last words that say something": {
			"Input #0\n[mov @ 0x55b8a9] [x @ 0x1] moov atom not found\nConversion failed!\n\n", "moov atom not found", watch.FailureUndecodable},
		"the last error, whatever is listed after it": {
			"Error opening decoder\nError while decoding stream #0:0: Invalid data\n  Metadata:\n    encoder : x\n", "Error while decoding stream #0:0: Invalid data", watch.FailureUndecodable},
		"a codec that nobody knows": {"Decoder (codec none) not found for input stream #0:0", "Decoder (codec none)", watch.FailureUndecodable},
		"no words":                  {"", "ffmpeg did not say why", watch.FailureUndecodable},
		"words with rubbish":        {"a\x00b\x1b[31mc\xff\xfe\n", "ab[31mc", watch.FailureUndecodable},
		"too many words":            {strings.Repeat("é", 101), strings.Repeat("é", 100) + "…", watch.FailureUndecodable},
		"a decoder that is none":    {"Decoder (codec av1) not found for input stream #0:0", "this ffmpeg was built without a decoder", watch.FailureTool},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ffmpeg.Parse(nil, []byte(c.log))
			if f := checkFailure(t, err, c.kind); !strings.HasPrefix(f.Detail, c.detail) {
				t.Errorf("detail = %q, want %q", f.Detail, c.detail)
			}
		})
	}
}
