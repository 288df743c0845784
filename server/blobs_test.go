package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/blob"
	"pinion/server/peer"
	"pinion/server/tracker"
)

// Hosts of a pool find and read one another's blobs; one that was removed, and one of another pool, do not.
func TestBlobsAreForHostsOfThePool(t *testing.T) {
	r := newRights(t)
	const digest = "sha256:some"
	r.b.member.Blobs.HandleBlobs(func(w http.ResponseWriter, q *http.Request, host string) {
		if q.PathValue("digest") != digest {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Range", "bytes 0-3/9")
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, host[:4])
	})
	holder, reader := r.b.member.Blobs, r.a.member.Blobs
	if _, err := holder.Ask(t.Context(), blob.Request{Full: true, Held: []string{digest}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the holder is connected, and named", func() bool {
		answer, err := reader.Ask(t.Context(), blob.Request{Full: true, Wants: []blob.Want{{Digest: digest, Size: 9}}})
		return err == nil && slices.ContainsFunc(answer.Grants[0].Peers, func(p blob.Peer) bool { return p.Host == r.b.cfg.HostID })
	})
	body, size, err := reader.Read(t.Context(), r.b.cfg.HostID, digest, 0, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if text, err := io.ReadAll(body); err != nil || string(text) != r.a.cfg.HostID[:4] || size != 9 {
		t.Errorf("it reads %q of %d bytes, %v", text, size, err)
	}
	if _, _, err := reader.Read(t.Context(), r.b.cfg.HostID, "sha256:another", 0, 4); !errors.Is(err, blob.ErrNotHere) {
		t.Errorf("another blob: %v", err)
	}
	if status, _ := (caller{r.b.where, certOf(t, r.a)}).call(t, peer.Peer, http.MethodGet, tracker.PathBlobs+digest, struct{}{}); status != http.StatusPartialContent {
		t.Fatalf("an agent of the pool is answered %d", status)
	}
	for name, c := range map[string]caller{
		"a removed host":         {r.b.where, certOf(t, r.removed)},
		"a host of another pool": {r.b.where, certOf(t, r.foreign)},
	} {
		eventually(t, name+" is refused", func() bool {
			status, _ := c.call(t, peer.Peer, http.MethodGet, tracker.PathBlobs+digest, struct{}{})
			return status != http.StatusPartialContent
		})
	}
}

// A host tells all that it may, in one call over the network.
func TestAHostTellsOfAllItsBlobsAndImages(t *testing.T) {
	r := newRights(t)
	all := blob.Request{Full: true, Images: &blob.Images{}}
	for i := range blob.MaxHeld {
		all.Held = append(all.Held, fmt.Sprintf("sha256:%064x", i))
	}
	for i := range blob.MaxImages {
		all.Images.List = append(all.Images.List, blob.Image{Name: fmt.Sprintf("registry.example.com/team/research/trainer:v%d", i), Digest: all.Held[i], Size: 1 << 40})
	}
	for i := range blob.MaxWants {
		pieces := blob.AllPieces(blob.Count(blob.MaxSize))
		want := blob.Want{Digest: fmt.Sprintf("sha256:%063xa", i), Size: blob.MaxSize, Have: pieces, Share: pieces, Take: 8, NoRanges: true, NoRegistry: true}
		for n := range blob.MaxAvoid {
			want.Avoid = append(want.Avoid, fmt.Sprintf("%032x", n))
		}
		all.Wants = append(all.Wants, want)
	}
	for name, m := range map[string]*Member{"an agent": r.a.member, "another": r.b.member} {
		if _, err := m.Blobs.Ask(t.Context(), all); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// 4 MiB of empty elements would stand for hundreds of MiB of the leader, and of any host that does not even lead. They are refused as text.
func TestACallOfAHostTakesNoMoreMemoryThanItsText(t *testing.T) {
	r := newRights(t)
	for list, element := range map[string]string{`"wants":[`: "{}", `"held":[`: `""`, `"images":{"list":[`: "{}"} {
		text := "{" + list + strings.Repeat(element+",", 4_000_000/(len(element)+1)) + element + "]" + strings.Repeat("}", strings.Count(list, "{")+1)
		for name, at := range map[string]*testHost{"the leader": r.server, "an agent": r.b} {
			var before, after runtime.MemStats
			c := caller{at.where, certOf(t, r.a)}
			runtime.ReadMemStats(&before)
			status, answer := c.post(t, peer.Peer, tracker.PathRequest, json.RawMessage(text))
			runtime.ReadMemStats(&after)
			if status != http.StatusConflict {
				t.Errorf("%s answers %d to %s", name, status, list)
			}
			t.Logf("%s: %d MiB for %d KiB: %d %s", name, (after.TotalAlloc-before.TotalAlloc)>>20, len(text)>>10, status, answer)
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 64 {
				t.Errorf("%s allocates %d MiB for %d KiB of %s", name, took, len(text)>>10, list)
			}
		}
	}
}
