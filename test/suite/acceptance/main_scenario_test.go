package acceptance_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
)

// With evidence, which must not delay an alert.
func TestTheMainScenario(t *testing.T) { // decisions P2, S1
	t.Parallel()
	t.Run("worker processes", func(t *testing.T) {
		runTimeline(t, 1)
		startEnv(t).PlayMain(t)
	})
	t.Run("inline workers, picture and sound in two playlists", func(t *testing.T) {
		runTimeline(t, 1)
		env := startEnv(t, "WORKER_RUNTIME=inline")
		env.Renditions = []livestream.Rendition{livestream.Video144p, livestream.AudioOnly}
		env.PlayMain(t)
	})
}
