package openid

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/issuer"
)

// A token is for one login, at once.
const (
	// Skew is by how much the clocks of issuer and pool may differ.
	Skew = time.Minute
	// MaxAge is how long after it was made a token is taken.
	MaxAge    = 10 * time.Minute
	maxGroups = 1000
	maxGroup  = 256
)

// claims of an ID token, beside those that go-oidc has checked: issuer and audience.
type claims struct {
	Subject         string    `json:"sub"`
	IssuedAt        *seconds  `json:"iat"`
	Expires         *seconds  `json:"exp"`
	NotBefore       *seconds  `json:"nbf"`
	Audience        oneOrMany `json:"aud"`
	AuthorizedParty string    `json:"azp"`
	EmailVerified   any       `json:"email_verified"`
}

// seconds since 1970, with or without a fraction.
type seconds float64

// time is the moment; what is beyond any is brought into the range of moments.
func (s *seconds) time() time.Time { return time.Unix(int64(min(max(float64(*s), -1e11), 1e11)), 0) }

// oneOrMany is a text or a list of texts.
type oneOrMany []string

// UnmarshalJSON reads either form.
func (o *oneOrMany) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*o = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(o))
}

// personOf reads the claims of a token whose signature, issuer and audience are right.
func personOf(from *issuer.Issuer, payload []byte, now time.Time) (Person, error) {
	var known claims
	var all map[string]json.RawMessage
	if err := json.Unmarshal(payload, &known); err != nil {
		return Person{}, refused("its claims cannot be read: %v", err)
	}
	if err := json.Unmarshal(payload, &all); err != nil {
		return Person{}, refused("its claims cannot be read: %v", err)
	}
	if err := checkNames(all); err != nil {
		return Person{}, refused("%w", err)
	}
	if err := known.checkTimes(now); err != nil {
		return Person{}, refused("%w", err)
	}
	if known.AuthorizedParty != "" && known.AuthorizedParty != from.ClientID || known.AuthorizedParty == "" && len(known.Audience) > 1 {
		return Person{}, refused("it was made for %q, not for %q", known.AuthorizedParty, from.ClientID)
	}
	if known.Subject == "" || len(known.Subject) > maxGroup {
		return Person{}, refused("it names no subject")
	}
	p := Person{Subject: known.Subject, Hash: hashOf(payload), Until: known.IssuedAt.time().Add(MaxAge + 2*Skew)}
	var err error
	if p.Name, err = nameOf(from, all, known.EmailVerified); err != nil {
		return Person{}, refused("%w", err)
	}
	if p.Groups, err = groupsOf(from, all); err != nil {
		return Person{}, refused("%w", err)
	}
	return p, nil
}

// decisive are the claims that go-oidc and this package go by.
var decisive = []string{"iss", "aud", "azp", "sub", "iat", "exp", "nbf", "email_verified"}

// checkNames refuses a claim whose name is one of those but for upper and lower case: encoding/json takes the one for the other, and claims of
// other names may be anybody's word.
func checkNames(all map[string]json.RawMessage) error {
	for name := range all {
		for _, exact := range decisive {
			if name != exact && strings.EqualFold(name, exact) {
				return fmt.Errorf("it has a claim %.50q, which could be taken for %q", name, exact)
			}
		}
	}
	return nil
}

// checkTimes refuses a token that is over, not valid yet, or older than a login takes.
func (c *claims) checkTimes(now time.Time) error {
	switch {
	case c.IssuedAt == nil || c.Expires == nil:
		return fmt.Errorf("it does not say when it was made (iat) and when it ends (exp)")
	case !now.Before(c.Expires.time().Add(Skew)):
		return fmt.Errorf("it has expired at %s", clock(c.Expires))
	case c.IssuedAt.time().After(now.Add(Skew)):
		return fmt.Errorf("it was made at %s, which is in the future of this host: one of the clocks is off", clock(c.IssuedAt))
	case c.NotBefore != nil && c.NotBefore.time().After(now.Add(Skew)):
		return fmt.Errorf("it is not valid before %s", clock(c.NotBefore))
	case now.Sub(c.IssuedAt.time()) > MaxAge+Skew:
		return fmt.Errorf("it was made at %s, and a login takes %v at most", clock(c.IssuedAt), MaxAge)
	}
	return nil
}

func clock(s *seconds) string { return s.time().UTC().Format(time.RFC3339) }

// nameOf is the name of the person. An e-mail address that the issuer has not verified is whatever somebody has typed there.
func nameOf(from *issuer.Issuer, all map[string]json.RawMessage, emailVerified any) (string, error) {
	var name string
	if json.Unmarshal(all[from.UserClaim], &name) != nil {
		return "", fmt.Errorf("it has no text in the claim %q, which names the person (`pinion oidc set --user-claim`)", from.UserClaim)
	}
	if from.UserClaim == "email" && emailVerified != nil && emailVerified != true && emailVerified != "true" {
		return "", fmt.Errorf("its e-mail address is not verified")
	}
	return name, issuer.CheckPerson(name)
}

// groupsOf are the groups of the person; none without the claim.
func groupsOf(from *issuer.Issuer, all map[string]json.RawMessage) ([]string, error) {
	text, has := all[from.GroupsClaim]
	if !has {
		return nil, nil
	}
	var groups oneOrMany
	if json.Unmarshal(text, &groups) != nil {
		return nil, fmt.Errorf("its claim %q is no list of groups", from.GroupsClaim)
	}
	if len(groups) > maxGroups || slices.ContainsFunc(groups, func(g string) bool { return len(g) > maxGroup }) {
		return nil, fmt.Errorf("its claim %q has more than %d groups, or one of more than %d bytes", from.GroupsClaim, maxGroups, maxGroup)
	}
	return groups, nil
}
