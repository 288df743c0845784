package api

import (
	"net/http"
	"reflect"
	"strings"
	"time"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/acme"
)

// certificateView is what the hosts of the pool share to get a certificate by ACME.
type certificateView struct {
	Name  string    `json:"name"`  // DNS name; account for the account at the CA
	Kind  string    `json:"kind"`  // account, certificate, or challenge: the answer to one
	PutAt time.Time `json:"putAt"` // when a host has put it
}

// certificateName names what is dropped.
type certificateName struct {
	Name string `json:"name"`
}

// accountName is what the account is called where others have DNS names: it has no dot, and no certificate is for such a name.
const accountName = "account"

// certificateRoutes are about what the hosts share to get certificates by ACME. Keys and certificates themselves are no answer.
func certificateRoutes(store rest.Store) []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/v1/admin/certificates", Role: accesskey.RoleAdmin, Scope: auth.PoolWide, Summary: "the certificates by ACME that the pool keeps for its hosts, and the account, without their keys",
			Out: reflect.TypeFor[[]certificateView](), Serve: listCertificates},
		{Method: http.MethodPost, Path: "/v1/admin/certificates/remove", Role: accesskey.RoleAdmin, Scope: auth.PoolWide, Summary: "drops a certificate by ACME, or the account: hosts order another one",
			In: reflect.TypeFor[certificateName](), Out: reflect.TypeFor[struct{}](), Serve: func(x *httpx.Exchange, res leader.Resolution) error { return removeCertificate(store, x, res) }},
	}
}

func listCertificates(x *httpx.Exchange, res leader.Resolution) error {
	views := []certificateView{}
	for item := range acme.ByKey.All(res.View) {
		view := certificateView{Name: item.Key, Kind: "certificate", PutAt: item.PutAt}
		if item.Key == acme.AccountKey {
			view.Name, view.Kind = accountName, "account"
		} else if name, is := strings.CutSuffix(item.Key, acme.AnswerSuffix); is {
			view.Name, view.Kind = name, "challenge"
		}
		views = append(views, view)
	}
	x.Reply(http.StatusOK, views)
	return nil
}

func removeCertificate(store rest.Store, x *httpx.Exchange, res leader.Resolution) error {
	var in certificateName
	if err := wire.DecodeJSON(x.Body, &in, wire.Strict); err != nil {
		return err
	}
	keys := []string{in.Name, in.Name + acme.AnswerSuffix}
	if in.Name == accountName {
		keys = []string{acme.AccountKey}
	}
	found := false
	for _, key := range keys {
		if acme.Find(res.View, key) == nil {
			continue
		}
		if _, err := store.Propose(x.Context(), raftfsm.Wrap(acme.Delete{Key: key})); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return wire.Errorf(httpx.NotFound, "The pool has no certificate by ACME for %.300q: `pinion certificate ls` lists them.", in.Name)
	}
	x.Reply(http.StatusOK, struct{}{})
	return nil
}
