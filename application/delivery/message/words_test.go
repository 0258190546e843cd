package message_test

import (
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestADurationHasTwoUnitsAtMost(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		0:                                     {"0 s", "0秒"},
		-time.Second:                          {"0 s", "0秒"},
		35*time.Second + 400*time.Millisecond: {"35 s", "35秒"},
		59*time.Second + 600*time.Millisecond: {"1 min", "1分"},
		4*time.Minute + 12*time.Second:        {"4 min 12 s", "4分12秒"},
		time.Hour + 12*time.Second:            {"1 h", "1時間"},
		time.Hour + 5*time.Minute:             {"1 h 5 min", "1時間5分"},
		49*time.Hour + 3*time.Minute:          {"2 d 1 h", "2日1時間"},
	} {
		for n, language := range []notify.Language{notify.English, notify.Japanese} {
			if got := message.Duration(language, d); got != want[n] {
				t.Errorf("%v is %q, want %q", d, got, want[n])
			}
		}
	}
}
