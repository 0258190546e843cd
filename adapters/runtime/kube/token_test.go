package kube_test

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/application/supervisor/launchertest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestAPodWithATokenOfAnotherKeyIsListedAsRefused(t *testing.T) { // decision O9
	changed := settings()
	changed.Tokens = monitor.NewTokenKey("another internal key")
	scenario(t, "by a gateway with the other key alone", func(t *testing.T) {
		cluster, same, _ := startWorker(t, settings(), launchertest.StopsWhenAsked)
		other := newLauncher(t, cluster, changed)
		all, err := same.Workers(t.Context())
		refused, otherErr := other.Workers(t.Context())
		if err != nil || otherErr != nil || len(all) != 1 || all[0].Refused || len(refused) != 1 || !refused[0].Refused {
			t.Errorf("got %+v, %v and %+v, %v", all, err, refused, otherErr)
		}
	})
}
