// Package importer registers the monitors or channels of a file, in batches of the public API
// (section 16.6). The gateway judges every registration; this package only divides the
// file and prints the results.
package importer

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
)

// Gateway registers a batch; apiclient.Client is one.
type Gateway interface {
	RegisterBatch(ctx context.Context, list, contentType string, body []byte, o apiclient.BatchOptions) ([]apiclient.BatchResult, error)
}

// count counts registrations by what has become of them.
type count struct{ registered, changed, unchanged, refused int }

func (c count) accepted() int { return c.registered + c.changed + c.unchanged }

// Import sends the batches in order and prints a line for each registration on results,
// and progress on messages. It waits where the gateway's rate limit asks for it. Errors:
// a batch could not be sent or was refused as a whole; some registrations were refused.
func Import(ctx context.Context, gateway Gateway, batches []Batch, o apiclient.BatchOptions, results, messages io.Writer) error {
	var all count
	for i, b := range batches {
		if len(batches) > 1 {
			fmt.Fprintf(messages, "batch %d of %d, %d registrations\n", i+1, len(batches), b.Size)
		}
		var answers []apiclient.BatchResult
		err := apiclient.WhenAllowed(ctx, messages, func() (err error) {
			answers, err = gateway.RegisterBatch(ctx, b.List, b.ContentType, b.Body, o)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %d registrations were accepted before this: %w", b.Rows(), all.accepted(), err)
		}
		for n, a := range answers {
			fmt.Fprintf(results, "%d\t%s\n", b.First+n, all.add(a, o.DryRun))
		}
	}
	switch registered := fmt.Sprintf("%d registered", all.registered); {
	case o.DryRun && o.Update:
		fmt.Fprintf(messages, "dry run: %d would be registered, %d changed, %d stay as they are, %d would be refused; nothing was stored\n", all.registered, all.changed, all.unchanged, all.refused)
	case o.DryRun:
		fmt.Fprintf(messages, "dry run: %d would be registered, %d would be refused; nothing was stored\n", all.registered, all.refused)
	case o.Update:
		fmt.Fprintf(messages, "%s, %d changed, %d stay as they are, %d refused\n", registered, all.changed, all.unchanged, all.refused)
	default:
		fmt.Fprintf(messages, "%s, %d refused\n", registered, all.refused)
	}
	if all.refused > 0 {
		return fmt.Errorf("%d of %d registrations were refused; correct them and import these again", all.refused, all.refused+all.accepted())
	}
	return nil
}

// add counts a result, and returns its line.
func (c *count) add(a apiclient.BatchResult, dryRun bool) string {
	what, id := a.StreamURL+a.Channel, string(a.MonitorID)+a.ChannelID // a result has one of each
	switch {
	case a.Error != nil:
		c.refused++
		return strings.TrimSuffix(fmt.Sprintf("refused\t%s\t%s: %s\t%s", what, a.Error.Code, a.Error.Message, a.Existing), "\t")
	case a.Changed == nil && dryRun:
		c.registered++
		return "valid\t" + what
	case a.Changed == nil:
		c.registered++
		return fmt.Sprintf("registered\t%s\t%s", what, id)
	case len(*a.Changed) == 0:
		c.unchanged++
		return fmt.Sprintf("unchanged\t%s\t%s", what, id)
	}
	c.changed++
	var fields []string
	for _, d := range *a.Changed {
		fields = append(fields, d.String())
	}
	return fmt.Sprintf("changed\t%s\t%s\t%s", what, id, strings.Join(fields, ", "))
}
