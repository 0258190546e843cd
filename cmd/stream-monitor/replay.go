package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// Run feeds a recording to the watcher again, prints the events that follow,
// and fails at the first observation whose effects are not the recorded ones.
func (c *ReplayCmd) Run(io console) error {
	file, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer func() { _ = file.Close() }()

	show := printer(io.out, c.JSON)
	observations, events := 0, 0
	err = worker.Replay(bufio.NewReader(file), func(m watch.RecordedStep) {
		observations++
		for _, e := range m.Effects {
			if e, ok := e.(watch.EventEmitted); ok {
				events++
				show(e)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("replay %s: %w", c.File, err)
	}
	fmt.Fprintf(io.err, "%d observations, %d events, the same effects as recorded\n", observations, events)
	return nil
}
