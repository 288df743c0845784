package gpu

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a host says of its links is kept as it was said: peers that are no UUID, kinds of a later version, lanes that no machine has.
func TestPackedLinksAreWhatTheyWere(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		links := rapid.SliceOf(rapid.Custom(func(r *rapid.T) Link {
			return Link{
				Peer: rapid.OneOf(rapid.StringMatching(`GPU-[0-9a-fA-F]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
					rapid.StringMatching(`(GPU-)?[0-9a-f-]{32,40}`), rapid.String()).Draw(r, "peer"),
				Kind:  rapid.OneOf(rapid.SampledFrom(numberedKinds), rapid.Map(rapid.String(), func(s string) LinkKind { return LinkKind(s) })).Draw(r, "kind"),
				Lanes: rapid.OneOf(rapid.IntRange(0, 18), rapid.Int()).Draw(r, "lanes"),
			}
		})).Draw(r, "links")
		packed := PackLinks(links...)
		if got := slices.Collect(packed.All()); !slices.Equal(got, links) {
			r.Fatalf("%+v came back as %+v", links, got)
		}
		for _, link := range links {
			first, there := (Device{Links: packed}).LinkTo(link.Peer)
			if at := slices.IndexFunc(links, func(l Link) bool { return l.Peer == link.Peer }); !there || first != links[at] {
				r.Fatalf("the link to %q is %v", link.Peer, first)
			}
		}
	})
}

// The links of a device take a word of memory and 19 bytes each.
func TestLinksOfUUIDsArePackedTightly(t *testing.T) {
	packed := PackLinks(Link{Peer: "GPU-0b5e7a10-9c8d-4e6f-8a7b-001122334455", Kind: LinkNVLink, Lanes: 18})
	if len(packed) != 19 {
		t.Errorf("a link takes %d bytes", len(packed))
	}
}

func TestLinksAreAListInJSON(t *testing.T) {
	device := Device{UUID: "GPU-1", Links: PackLinks(Link{Peer: "GPU-2", Kind: LinkNVLink, Lanes: 18}, Link{Peer: "GPU-3", Kind: LinkSystem})}
	text, err := json.Marshal(device)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"uuid":"GPU-1","index":0,"minor":0,"pci":"","model":"","numaNode":0,` +
		`"links":[{"peer":"GPU-2","kind":"NVLINK","lanes":18},{"peer":"GPU-3","kind":"SYS"}],"health":""}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
	var back Device
	if err := json.Unmarshal(text, &back); err != nil || back.Links != device.Links {
		t.Errorf("%v, %v", back, err)
	}
	for _, none := range []string{`{"links":[]}`, `{"links":null}`, `{}`} {
		if err := json.Unmarshal([]byte(none), &back); err != nil {
			t.Error(err)
		}
	}
}
