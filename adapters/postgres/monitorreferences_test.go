package postgres_test

import (
	"fmt"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/references"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func reference(n int) references.Upload {
	return references.Upload{
		Record: references.Record{
			ID: fmt.Sprintf("0190a5d8-1c2b-7d8a-9c1d-%012d", n), Name: fmt.Sprintf("slate %d", n), Unwanted: detector.Always, Similarity: 0.9,
			MediaType: "image/png", Width: 1280, Height: 720, Size: 4, CreatedAt: noon.UTC(),
		},
		Digests: []detector.Picture{{Width: 1280, Height: 720, Luma: []byte{1, 2}, U: []byte{3}, V: []byte{4}}}, Image: []byte("\x89PNG"),
	}
}

func TestAReferenceIsStoredWithTheNextRevision(t *testing.T) { // section 17.6
	t.Parallel()
	s, db := newStore(t)
	m, other := register(t, s, 1), register(t, s, 2)
	head := feedHead(t, s, db)
	first, second := reference(1), reference(2)
	check(t, s.AddReference(t.Context(), m.ID, first))
	check(t, s.AddReference(t.Context(), m.ID, second))
	expect(t, "the feed", feedSince(t, s, head), []string{"monitor.updated initializing"})
	check(t, s.AddReference(t.Context(), other.ID, references.Upload{Record: reference(3).Record, Image: []byte("x")}))
	list := must(s.ListReferences(t.Context(), m.ID))(t)
	for i := range list {
		list[i].CreatedAt = list[i].CreatedAt.UTC()
	}
	expect(t, "the list", list, []references.Record{first.Record, second.Record})
	expect(t, "what a worker gets", must(s.References(t.Context(), m.ID))(t), []detector.Reference{
		{Name: "slate 1", Unwanted: detector.Always, Similarity: 0.9, Digests: first.Digests}, {Name: "slate 2", Unwanted: detector.Always, Similarity: 0.9, Digests: second.Digests},
	})
	expect(t, "the answer to the worker", must(s.Accept(t.Context(), m.ID, report()))(t).Revision, 2)
	mediaType, image, err := s.ReferenceImage(t.Context(), m.ID, first.ID)
	check(t, err)
	expect(t, "the image", mediaType+" "+string(image), "image/png \x89PNG")

	twin := reference(9)
	twin.Name = first.Name
	requireCode(t, s.AddReference(t.Context(), m.ID, twin), references.NameTaken)
	requireCode(t, s.RemoveReference(t.Context(), other.ID, first.ID), references.NotFound)
	_, _, err = s.ReferenceImage(t.Context(), other.ID, first.ID)
	requireCode(t, err, references.NotFound)
	check(t, s.RemoveReference(t.Context(), m.ID, first.ID))
	expect(t, "the references that are left", len(must(s.References(t.Context(), m.ID))(t)), 1)
	for n := range references.MaxReferences - 1 {
		check(t, s.AddReference(t.Context(), m.ID, reference(20+n)))
	}
	requireCode(t, s.AddReference(t.Context(), m.ID, reference(40)), monitor.InvalidConfig)
	expect(t, "the revision after all of that", getMonitor(t, s, m.ID).Revision, 3+references.MaxReferences-1)

	stopMonitor(t, s, m.ID)
	requireCode(t, s.RemoveReference(t.Context(), m.ID, second.ID), monitor.Ended)
	expect(t, "the references of an ended monitor", len(must(s.ListReferences(t.Context(), m.ID))(t)), references.MaxReferences)
	unknown := monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d")
	requireCode(t, errorOf(s.ListReferences(t.Context(), unknown)), monitor.NotFound)
	requireCode(t, s.AddReference(t.Context(), unknown, reference(50)), monitor.NotFound)
}
