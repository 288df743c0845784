package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
)

// snapshot sends the state as a file that carries a checksum, with the history of ended tasks if ?history=1 asks for it.
func (a *API) snapshot(x *httpx.Exchange, _ leader.Resolution) error {
	if a.Admin.Snapshots == nil {
		return NotConfigured("saving snapshots")
	}
	withHistory := false
	if text := x.Request.URL.Query().Get("history"); text != "" {
		var err error
		if withHistory, err = strconv.ParseBool(text); err != nil {
			return wire.Errorf(wire.InvalidParameter, "history must be 1 or 0, not %q.", text)
		}
	}
	x.Header().Set("Content-Type", "application/octet-stream")
	err := a.Admin.Snapshots.SaveSnapshot(x.Context(), &httpx.StreamWriter{Exchange: x}, withHistory)
	if err == nil || !x.Wrote() {
		return err
	}
	x.Log.Warn("a snapshot broke off", "requestId", x.ID, "error", err)
	panic(http.ErrAbortHandler)
}

// checksumView is the checksum of a server's state.
type checksumView struct {
	Index  uint64 `json:"index"`  // of the last change in the state
	SHA256 string `json:"sha256"` // of the state as a snapshot writes it: equal states have equal sums
	Server bool   `json:"server"` // always true: a host that is no server has no state
}

// checksum replies with a sum of this host's own state, so that the servers of a pool can be compared. It takes no part in
// consensus, may lag behind, and delays no change while it reads.
func (a *API) checksum(x *httpx.Exchange, res leader.Resolution) error {
	sum := sha256.New()
	if err := res.View.WriteSnapshot(sum); err != nil {
		return err
	}
	return reply(x, checksumView{Index: res.View.Index(), SHA256: hex.EncodeToString(sum.Sum(nil)), Server: true})
}
