package ecs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// accountSetting is one of ECS's account settings. Only containerInsights does anything here: new clusters start with it.
type accountSetting struct {
	name    string
	values  []string // that can be chosen, the default first
	managed bool     // by AWS; nobody can choose
}

var containerInsights = accountSetting{name: "containerInsights", values: []string{"disabled", "enabled", "enhanced"}}

// accountSettings are all there are, in the order in which they are listed.
var accountSettings = []accountSetting{
	{name: "awsvpcTrunking", values: []string{"disabled", "enabled"}},
	containerInsights,
	{name: "containerInstanceLongArnFormat", values: []string{"enabled"}},
	{name: "defaultLogDriverMode", values: []string{"non-blocking", "blocking"}},
	{name: "fargateEventWindows", values: []string{"disabled", "enabled"}},
	{name: "fargateFIPSMode", values: []string{"disabled", "enabled"}},
	{name: "fargateTaskRetirementWaitPeriod", values: []string{"7", "0", "14"}},
	{name: "guardDutyActivate", values: []string{"off"}, managed: true},
	{name: "serviceLongArnFormat", values: []string{"enabled"}},
	{name: "tagResourceAuthorization", values: []string{"on", "off"}},
	{name: "taskLongArnFormat", values: []string{"enabled"}},
}

// shownSetting is ECS's Setting.
type shownSetting struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Principal string `json:"principalArn"`
	Type      string `json:"type"`
}

type settingOutput struct {
	Setting shownSetting `json:"setting"`
}

// parsePrincipal is what the state calls a principal: the account itself stands for everybody.
func (c *Request) parsePrincipal(given string) (string, error) {
	principal := cmp.Or(given, c.Principal)
	if principal == rootARN {
		return "", nil
	}
	if !strings.HasPrefix(principal, "arn:aws:iam::"+spec.AccountID+":") || len(principal) > maxReason {
		return "", wire.Errorf(wire.InvalidParameter, "principalArn %s is not the ARN of an access key of this account, arn:aws:iam::%s:user/KEYID, nor that of the account, %s.", principal, spec.AccountID, rootARN)
	}
	return principal, nil
}

// rootARN is the account itself. Its settings are those of everybody who chose nothing.
const rootARN = "arn:aws:iam::" + spec.AccountID + ":root"

func findSetting(name string) (accountSetting, error) {
	at := slices.IndexFunc(accountSettings, func(s accountSetting) bool { return s.name == name })
	if at >= 0 {
		return accountSettings[at], nil
	}
	var names []string
	for _, s := range accountSettings {
		names = append(names, s.name)
	}
	return accountSetting{}, wire.Errorf(wire.InvalidParameter, "name must be one of %s, not %q", strings.Join(names, ", "), name)
}

// effectiveSetting is the value that counts for a principal: its own, the account's, or the default.
func (c *Request) effectiveSetting(principal string, s accountSetting) string {
	for _, whose := range []string{principal, ""} {
		if chosen := c.View.AccountSetting(whose, s.name); chosen != nil {
			return chosen.Value
		}
	}
	return s.values[0]
}

func (s accountSetting) shown(principal, value string) shownSetting {
	kind := "user"
	if s.managed {
		kind = "aws_managed"
	}
	return shownSetting{s.name, value, cmp.Or(principal, rootARN), kind}
}

type putSettingInput struct {
	putDefaultSettingInput
	Principal string `json:"principalArn"`
}

type putDefaultSettingInput struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (c *Request) putAccountSetting(ctx context.Context, in *putSettingInput) (*settingOutput, error) {
	principal, err := c.parsePrincipal(in.Principal)
	if err != nil {
		return nil, err
	}
	return c.putSetting(ctx, principal, in.putDefaultSettingInput)
}

func (c *Request) putAccountSettingDefault(ctx context.Context, in *putDefaultSettingInput) (*settingOutput, error) {
	return c.putSetting(ctx, "", *in)
}

func (c *Request) putSetting(ctx context.Context, principal string, in putDefaultSettingInput) (*settingOutput, error) {
	setting, err := findSetting(in.Name)
	if err != nil {
		return nil, err
	}
	if setting.managed {
		return nil, wire.Errorf(wire.InvalidParameter, "%s cannot be set: it is read only.", setting.name)
	}
	if strings.HasSuffix(setting.name, "LongArnFormat") && in.Value == "disabled" {
		return nil, wire.Errorf(wire.InvalidParameter, "%s cannot be disabled: the long format of ARNs is the only one.", setting.name)
	}
	if err := allInEnum("value of "+setting.name, []string{in.Value}, setting.values...); err != nil {
		return nil, err
	}
	stored, err := apply[*spec.AccountSetting](ctx, c, raftfsm.PutAccountSetting{Setting: spec.AccountSetting{Name: setting.name, Value: in.Value, Principal: principal}})
	if err != nil {
		return nil, err
	}
	return &settingOutput{setting.shown(principal, stored.Value)}, nil
}

type deleteSettingInput struct {
	Name      string `json:"name"`
	Principal string `json:"principalArn"`
}

// deleteAccountSetting answers with the value that counts from now on.
func (c *Request) deleteAccountSetting(ctx context.Context, in *deleteSettingInput) (*settingOutput, error) {
	setting, err := findSetting(in.Name)
	if err != nil {
		return nil, err
	}
	principal, err := c.parsePrincipal(in.Principal)
	if err != nil {
		return nil, err
	}
	if _, err := c.Store.Propose(ctx, raftfsm.DeleteAccountSetting{Principal: principal, Name: setting.name}); err != nil {
		return nil, err
	}
	value := setting.values[0]
	if forAll := c.View.AccountSetting("", setting.name); forAll != nil && principal != "" {
		value = forAll.Value
	}
	return &settingOutput{setting.shown(principal, value)}, nil
}
