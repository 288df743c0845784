package api

import (
	"net/http"
	"strconv"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// A server that does not lead has the state too. So that the leader neither does all the work nor sends every answer
// twice through the network, such a server answers by itself what only reads: it passes the request on as always, and
// says which state it has. A leader that has the same one, and has made sure that it still leads, answers no more than
// that; any other answers the request.
//
// That is linearizable for a simple reason: the answer comes from the very state that the leader would have answered
// from. An older one could lack what was acknowledged. A younger one could have what the leader is about to have, and
// whoever asks the leader next would see it gone again.
//
// A leader that is too old to know of this answers the request, and one that is asked by such a host sees no header.

// stateVersion names the state that a view shows: equal names are equal states. After a recovery the log goes on from an
// earlier place, so its indexes come twice, in two incarnations of the pool.
func stateVersion(view *raftfsm.View) string {
	return strconv.FormatUint(view.Index(), 10) + "-" + strconv.Itoa(view.Settings().Incarnation)
}

// confirm is reach for operations that only read: the leader's word is enough for a host that has the same state.
func (d *door) confirm(w http.ResponseWriter, r *http.Request, body []byte) (caller, error) {
	who, err := d.seek(w, r, body, d.compare)
	if err != nil || who.silent != nil || r.Header.Get(stateVersionHeader) != stateVersion(who.view) {
		return who, err
	}
	d.giveWord(w, who.view)
	return who, errAnswered
}

// compare finds out from the leader whether what this host has is what the leader has. It only asks for those whom it
// knows itself: it may lag behind, so all others are the leader's to judge.
func (d *door) compare(w http.ResponseWriter, r *http.Request, address string, body []byte) (caller, error) {
	who, err := d.here(r, body)
	if err != nil {
		return d.forward(w, r, address, body)
	}
	answer, end, err := d.passOn(r, address, stateVersion(who.view), body)
	defer end()
	if err != nil {
		return caller{}, err
	}
	if answer.Header.Get(stateMatchHeader) == "" {
		d.relay(w, r, answer, end)
		return caller{}, errAnswered
	}
	who.silent, err = takeWord(answer, end)
	return who, err
}

// here finds out who asks with the state as this host has it, which may lag behind. raftfsm.ErrUnavailable when it has none.
func (d *door) here(r *http.Request, body []byte) (caller, error) {
	if d.Local == nil {
		return caller{}, spec.ErrUnavailable
	}
	view, err := d.Local.StaleView()
	if err != nil {
		return caller{}, err
	}
	return d.authenticate(r, body, view)
}
