package notifier

import (
	"context"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Thread is the messages about an incident at a channel that edits: one that shows the present
// state, and short ones that make a sound.
type Thread struct {
	Post func(context.Context, message.Message) message.Result // it returns the Ref
	Push func(context.Context, message.Message) message.Result // posts the short message

	// Edit changes the message of m.Ref. gone means that it cannot be edited any more.
	Edit func(ctx context.Context, m message.Message) (r message.Result, gone bool)
}

// Send posts a message, or edits it and pushes if it should make a sound. A message that
// somebody has deleted is posted again.
func (t Thread) Send(ctx context.Context, m message.Message) message.Result {
	if m.Ref == "" {
		return t.Post(ctx, m)
	}
	edited, gone := t.Edit(ctx, m)
	if gone {
		return t.Post(ctx, m)
	}
	if edited.Class != notify.NoFailure {
		return edited
	}
	if edited.Ref == "" {
		edited.Ref = m.Ref
	}
	if !m.Push {
		return edited
	}
	pushed := t.Push(ctx, m)
	pushed.Ref = edited.Ref
	return pushed
}
