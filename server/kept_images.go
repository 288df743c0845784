package server

import (
	"sync"
	"time"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/image"
)

// keptImagesFor is how long it is known which hosts keep which images, until it is found out again.
const keptImagesFor = time.Second

// keptImages tells hosts which images they are to keep. It is safe for concurrent use.
type keptImages struct {
	server *Server

	mu     sync.Mutex
	at     time.Time
	byHost map[string]*blob.Images
}

// of is what a host is to keep, nil while this server does not lead.
func (k *keptImages) of(host string) *blob.Images {
	if _, err := k.server.node.RequireLeader(); err != nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.server.node.Now(); k.byHost == nil || now.Sub(k.at) > keptImagesFor {
		k.at, k.byHost = now, k.find()
	}
	if found := k.byHost[host]; found != nil {
		return found
	}
	return &blob.Images{}
}

func (k *keptImages) find() map[string]*blob.Images {
	found := map[string]*blob.Images{}
	view := k.server.state.View()
	hosts := view.Hosts("")
	for _, i := range image.All(view) {
		for _, h := range i.Keepers(hosts, k.server.liveness.Connected) {
			if found[h.ID] == nil {
				found[h.ID] = &blob.Images{}
			}
			found[h.ID].List = append(found[h.ID].List, blob.Image{Name: i.Name, Digest: i.Digest, Size: i.Size})
		}
	}
	return found
}
