package tracker

import (
	"sync"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/image"
)

// keptImagesFor is the age at which the list of the images that hosts keep is computed anew.
const keptImagesFor = time.Second

// KeptImages tells hosts which images they are to keep, as the state has it. It is safe for concurrent use.
type KeptImages struct {
	server    Server
	connected func(hostID string) bool

	mu     sync.Mutex
	at     time.Time
	byHost map[string]*blob.Images
}

// Server is the part of the local server that KeptImages uses.
type Server interface {
	State() *raftfsm.State
	Now() time.Time
	Leads() bool
}

// NewKeptImages returns what the hosts that are connected are to keep.
func NewKeptImages(server Server, connected func(hostID string) bool) *KeptImages {
	return &KeptImages{server: server, connected: connected}
}

// ImagesOf lists the images that a host is to keep, nil while this server does not lead.
func (k *KeptImages) ImagesOf(host string) *blob.Images {
	if !k.server.Leads() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.server.Now(); k.byHost == nil || now.Sub(k.at) > keptImagesFor {
		k.at, k.byHost = now, k.find()
	}
	if found := k.byHost[host]; found != nil {
		return found
	}
	return &blob.Images{}
}

func (k *KeptImages) find() map[string]*blob.Images {
	found := map[string]*blob.Images{}
	view := k.server.State().View()
	hosts := view.Hosts("")
	for _, i := range image.All(view) {
		for _, h := range i.Keepers(hosts, k.connected) {
			if found[h.ID] == nil {
				found[h.ID] = &blob.Images{}
			}
			found[h.ID].List = append(found[h.ID].List, blob.Image{Name: i.Name, Digest: i.Digest, Size: i.Size})
		}
	}
	return found
}
