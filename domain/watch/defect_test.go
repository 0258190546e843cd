package watch_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestEachKindOfOddEntryIsLoggedOnce(t *testing.T) {
	w := scenario(t).from(0).until(100)
	read := func(defect string) {
		for _, task := range w.watcher.Next() {
			if task.Kind == watch.TaskPlaylist {
				p := w.playlist(task.URL, w.now)
				p.Defect = defect
				w.step(p)
			}
		}
		w.until(w.now + 15)
	}
	for i := range 30 {
		read("EXTINF is not a positive number of seconds")
		if read(fmt.Sprintf("a hostile playlist has defect %d", i)); i == 15 {
			w.resume(5)
		}
	}
	if n := len(w.logged("An entry of the stream's manifest is odd; it is left out or repaired, and the rest is used")); n != 8 {
		t.Errorf("logged %d times, want 8", n)
	}
}
