package supervise

import "testing"

// Every sight has its finding (section 10.4, decisions O3 and O5).
func TestJudging(t *testing.T) {
	const other = 3 // another generation than the newest, which is 4
	for _, c := range []struct {
		sight
		want finding
	}{
		// Its worker runs here.
		{sight{worker: 4, charged: true, own: true}, fine},
		{sight{worker: 4, own: true}, found},
		{sight{worker: 4, own: true, elected: true}, found},
		{sight{worker: 4}, fine},                 // a gateway that shares the place looks after it
		{sight{worker: 4, elected: true}, found}, // none may
		{sight{worker: 4, charged: true, elected: true}, fine},
		// It does not.
		{sight{own: true}, missing},
		{sight{own: true, elected: true}, missing},
		{sight{own: true, charged: true}, fine}, // it is being launched, or its end will be told
		{sight{}, fine},
		{sight{elected: true}, fine}, // it may run elsewhere: its lease will tell
		// An older or a newer one does.
		{sight{worker: other, own: true}, missing},
		{sight{worker: other, own: true, charged: true}, fine},
		{sight{worker: other}, fine},
		{sight{worker: other, elected: true}, fine},
		{sight{worker: 5, own: true}, missing}, // a database that was restored
		// It says nothing.
		{sight{worker: 4, charged: true, own: true, silent: true, elected: true}, silent},
		{sight{worker: 4, charged: true, own: true, silent: true}, fine}, // another gateway is elected
		{sight{silent: true, elected: true}, silent},
		{sight{silent: true}, fine},
		{sight{own: true, silent: true, elected: true}, missing},
		{sight{worker: other, silent: true, elected: true}, silent},
	} {
		c.generation = 4
		if got := judge(c.sight); got != c.want {
			t.Errorf("%+v: %d, want %d", c.sight, got, c.want)
		}
	}
}
