package openid

import (
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/oauth2"

	"pinion/raftfsm/issuer"
)

// savedDevice is what another leader needs to go on with a device flow.
type savedDevice struct {
	Issuer   string        `json:"issuer"`
	ClientID string        `json:"clientId"`
	TokenURL string        `json:"tokenUrl"`
	Code     string        `json:"code"`
	Interval time.Duration `json:"interval"`
	Expires  time.Time     `json:"expires"`
}

// Save is what Devices.Resume goes on from. The device code is in it in clear: whoever has that gets the ID token.
func (d *Device) Save() (saved string) {
	text, _ := json.Marshal(savedDevice{d.at.URL, d.at.ClientID, d.flow.Endpoint.TokenURL, d.code, d.Interval, d.Expires}) // texts, a number and a time of this century
	return string(text)
}

// restore is a device as it was saved, but for its prompt, if it was begun at this issuer by this client of it.
func restore(at *issuer.Issuer, saved string) (*Device, error) {
	var s savedDevice
	if err := json.Unmarshal([]byte(saved), &s); err != nil {
		return nil, err
	}
	if s.Issuer != at.URL || s.ClientID != at.ClientID {
		return nil, fmt.Errorf("it was begun at %s by the client %s, and the pool has another issuer now", s.Issuer, s.ClientID)
	}
	client, err := newClient(at)
	if err != nil {
		return nil, err
	}
	flow := oauth2.Config{ClientID: at.ClientID, Endpoint: oauth2.Endpoint{TokenURL: s.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	return &Device{Interval: s.Interval, Expires: s.Expires, at: at, client: client, flow: flow, code: s.Code}, nil
}
