package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// digestView is what a server answers to GET /v1/admin/digest.
type digestView struct {
	Index  uint64 `json:"index"`  // of the last change in the state
	SHA256 string `json:"sha256"` // of the state as a snapshot writes it: equal states have equal sums
	Server bool   `json:"server"` // always true: who is no server has no state
}

// digest tells by a sum what this host's own state is, so that the servers of a pool can be compared. It takes no part
// in consensus, may lag behind, and holds up no change while it reads.
func (d *door) digest(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	sum := sha256.New()
	if err := who.view.WriteSnapshot(sum); err != nil {
		return err
	}
	d.reply(w, r, typeJSON, http.StatusOK, digestView{Index: who.view.Index(), SHA256: hex.EncodeToString(sum.Sum(nil)), Server: true})
	return nil
}

// own finds this host's own state and asks no other host.
func (d *door) own(_ http.ResponseWriter, r *http.Request, body []byte) (caller, error) {
	if d.Local == nil {
		view, err := d.Store.View(r.Context())
		if err != nil {
			return caller{}, err
		}
		return d.authenticate(r, body, view)
	}
	view, err := d.Local.StaleView()
	if errors.Is(err, spec.ErrUnavailable) {
		return caller{}, wire.Errorf(notFound, "This host holds no state of the pool: it is an agent. Ask a server; `pinion hosts` lists them.")
	}
	if err != nil {
		return caller{}, err
	}
	return d.authenticate(r, body, view)
}
