package notifier

import (
	"context"
	"net/http"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// EditingSender sends the messages about incidents to one destination of a channel that edits.
// Each incident has a message that shows its present state, and short ones that make a sound.
type EditingSender interface {
	// Post posts the message that shows the state. The Result has its Ref.
	Post(ctx context.Context, m message.Message) message.Result

	// Push posts a short message that makes a sound, about the message of m.Ref.
	Push(ctx context.Context, m message.Message) message.Result

	// Edit changes the message of m.Ref. notEditable means that this is no longer possible,
	// which a status of HTTP need not say.
	Edit(ctx context.Context, m message.Message) (r message.Result, notEditable bool)
}

// SendEditing posts a message, or edits it and pushes if it should make a sound. What cannot be
// edited is posted as a new message: somebody has deleted the old one, or its thread is archived.
func SendEditing(ctx context.Context, s EditingSender, m message.Message) message.Result {
	if m.Ref == "" {
		return s.Post(ctx, m)
	}
	edited, notEditable := s.Edit(ctx, m)
	if notEditable || refusedForGood(edited, m) {
		return s.Post(ctx, m)
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
	pushed := s.Push(ctx, m)
	pushed.Ref, pushed.EditedAndPushed = edited.Ref, true
	return pushed
}

// refusedForGood reports whether the channel has refused an edit for a reason that will not pass.
// A message is edited without its picture before it is posted again.
func refusedForGood(r message.Result, m message.Message) bool {
	switch {
	case r.Class == notify.NoFailure, r.Class == notify.Gone, r.Class == notify.Rejected && m.Picture != nil:
		return false
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusRequestTimeout, r.Status == http.StatusTooManyRequests:
		return false
	}
	return r.Status >= 400 && r.Status <= 499
}
