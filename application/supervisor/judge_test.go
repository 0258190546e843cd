package supervisor

import "testing"

// Every sight has its finding (section 10.4, decisions O3 and O5).
func TestJudging(t *testing.T) {
	const other = 3 // another generation than the newest, which is 4
	for _, c := range []struct {
		sight
		want finding
	}{
		// Its worker runs, launched here, where nobody else launches.
		{sight{worker: 4, here: true, charged: true}, fine},
		{sight{worker: 4, here: true}, found},
		{sight{worker: 4, here: true, elected: true}, found},
		// It does not.
		{sight{here: true}, missing},
		{sight{here: true, elected: true}, missing},
		{sight{here: true, charged: true}, fine}, // it is being launched, or its end will be told
		{sight{here: true, worker: other}, missing},
		{sight{here: true, worker: other, charged: true}, fine},
		{sight{here: true, worker: 5}, missing}, // a database that was restored
		{sight{here: true, silent: true, elected: true}, missing},

		// Launched here, where others launch, too.
		{sight{worker: 4, here: true, shared: true}, fine}, // one of them looks after it
		{sight{worker: 4, here: true, shared: true, elected: true}, found},
		{sight{worker: 4, here: true, shared: true, elected: true, charged: true}, fine},
		{sight{here: true, shared: true, elected: true, reported: true}, fine}, // it may be on its way
		{sight{here: true, shared: true, elected: true, reported: true, absent: true}, missing},
		{sight{here: true, shared: true, elected: true, reported: true, absent: true, charged: true}, fine},
		{sight{here: true, shared: true, reported: true, absent: true}, fine},
		{sight{here: true, shared: true, elected: true, absent: true}, fine}, // it is being launched
		{sight{here: true, shared: true, elected: true, absent: true, silent: true}, missing},
		{sight{here: true, shared: true, elected: true, worker: other, reported: true, absent: true}, missing},

		// Who runs there cannot be seen.
		{sight{here: true, shared: true, elected: true, blind: true, reported: true, absent: true}, fine},
		{sight{here: true, shared: true, elected: true, blind: true, silent: true}, silent},
		{sight{here: true, shared: true, blind: true, silent: true}, fine},
		{sight{here: true, blind: true}, fine},

		// Launched elsewhere.
		{sight{}, fine},
		{sight{elected: true}, fine},
		{sight{elected: true, reported: true, absent: true}, fine}, // of course it is
		{sight{worker: other}, fine},
		{sight{worker: other, elected: true}, fine},

		// It says nothing.
		{sight{worker: 4, here: true, charged: true, silent: true, elected: true}, silent},
		{sight{worker: 4, here: true, charged: true, silent: true}, fine}, // another gateway is elected
		{sight{silent: true, elected: true}, silent},
		{sight{silent: true}, fine},
		{sight{worker: other, silent: true, elected: true}, silent},
	} {
		c.generation = 4
		if got := judge(c.sight); got != c.want {
			t.Errorf("%+v: %d, want %d", c.sight, got, c.want)
		}
	}
}
