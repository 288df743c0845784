// Package account has the account settings of ECS and their operations.
package account

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/raftfsm"
	"pinion/raftfsm/accountsetting"
	"pinion/raftfsm/spec"
)

// accountSetting is one of ECS's account settings. Only containerInsights does anything here: new clusters start with it.
type accountSetting struct {
	name    string
	values  []string // that can be chosen, the default first
	managed bool     // by AWS; nobody can choose
}

// ContainerInsightsValues are the values that containerInsights can have, the default first.
var ContainerInsightsValues = []string{view.ContainerInsightsDefault, "enabled", "enhanced"}

var containerInsights = accountSetting{name: view.ContainerInsights, values: ContainerInsightsValues}

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

// maxPrincipal bounds what a caller can put into the state.
const maxPrincipal = 1024

// parsePrincipal returns the principal as the state records it: empty for the account itself, whose settings are the defaults of
// all principals.
func parsePrincipal(r *call.Request, given string) (string, error) {
	principal := cmp.Or(given, r.Principal)
	if principal == RootARN {
		return "", nil
	}
	if !strings.HasPrefix(principal, "arn:aws:iam::"+spec.AccountID+":") || len(principal) > maxPrincipal {
		return "", field.Errorf("principalArn", "principalArn %s is not the ARN of an access key of this account, arn:aws:iam::%s:user/KEYID, nor that of the account, %s.", principal, spec.AccountID, RootARN)
	}
	return principal, nil
}

// RootARN is the account itself. Its settings count for every principal without a setting of its own.
const RootARN = "arn:aws:iam::" + spec.AccountID + ":root"

func findSetting(name string) (accountSetting, error) {
	at := slices.IndexFunc(accountSettings, func(s accountSetting) bool { return s.name == name })
	if at >= 0 {
		return accountSettings[at], nil
	}
	var names []string
	for _, s := range accountSettings {
		names = append(names, s.name)
	}
	return accountSetting{}, field.Errorf("name", "name must be one of %s, not %q", strings.Join(names, ", "), name)
}

// ContainerInsights is the value of containerInsights that counts for the caller.
func ContainerInsights(r *call.Request) string {
	return effectiveSetting(r, r.Principal, containerInsights)
}

// effectiveSetting is the value that counts for a principal: its own, the account's, or the default.
func effectiveSetting(r *call.Request, principal string, s accountSetting) string {
	for _, whose := range []string{principal, ""} {
		if chosen := accountsetting.Find(r.View, whose, s.name); chosen != nil {
			return chosen.Value
		}
	}
	return s.values[0]
}

func (s accountSetting) output(principal, value string) types.Setting {
	kind := "user"
	if s.managed {
		kind = "aws_managed"
	}
	return types.Setting{Name: s.name, Value: value, PrincipalARN: cmp.Or(principal, RootARN), Type: kind}
}

// PutSetting sets what a principal chose.
func PutSetting(ctx context.Context, r *call.Request, in *types.PutAccountSettingInput) (*types.PutAccountSettingOutput, error) {
	principal, err := parsePrincipal(r, in.PrincipalARN)
	if err != nil {
		return nil, err
	}
	setting, err := putSetting(ctx, r, principal, in.Name, in.Value)
	return &types.PutAccountSettingOutput{Setting: setting}, err
}

// PutSettingDefault sets what counts for every principal without a setting of its own.
func PutSettingDefault(ctx context.Context, r *call.Request, in *types.PutAccountSettingDefaultInput) (*types.PutAccountSettingDefaultOutput, error) {
	setting, err := putSetting(ctx, r, "", in.Name, in.Value)
	return &types.PutAccountSettingDefaultOutput{Setting: setting}, err
}

func putSetting(ctx context.Context, r *call.Request, principal, name, value string) (types.Setting, error) {
	setting, err := findSetting(name)
	if err != nil {
		return types.Setting{}, err
	}
	if setting.managed {
		return types.Setting{}, field.Errorf("name", "%s cannot be set: it is read only.", setting.name)
	}
	if strings.HasSuffix(setting.name, "LongArnFormat") && value == "disabled" {
		return types.Setting{}, field.Errorf("value", "You can no longer disable %s: the long format of ARNs is the only one.", setting.name)
	}
	if err := field.Choice("value", "value of "+setting.name, value, setting.values...); err != nil {
		return types.Setting{}, err
	}
	stored, err := call.Apply[*accountsetting.Setting](ctx, r, raftfsm.Wrap(accountsetting.Put{Setting: accountsetting.Setting{Name: setting.name, Value: value, Principal: principal}}))
	if err != nil {
		return types.Setting{}, err
	}
	return setting.output(principal, stored.Value), nil
}

// DeleteSetting answers with the value that counts from now on.
func DeleteSetting(ctx context.Context, r *call.Request, in *types.DeleteAccountSettingInput) (*types.DeleteAccountSettingOutput, error) {
	setting, err := findSetting(in.Name)
	if err != nil {
		return nil, err
	}
	principal, err := parsePrincipal(r, in.PrincipalARN)
	if err != nil {
		return nil, err
	}
	if _, err := r.Store.Propose(ctx, raftfsm.Wrap(accountsetting.Delete{Principal: principal, Name: setting.name})); err != nil {
		return nil, err
	}
	value := setting.values[0]
	if forAll := accountsetting.Find(r.View, "", setting.name); forAll != nil && principal != "" {
		value = forAll.Value
	}
	return &types.DeleteAccountSettingOutput{Setting: setting.output(principal, value)}, nil
}

// maxSettings is ECS's limit of settings in one answer, and the default.
const maxSettings = 10

// ListSettings lists what a principal chose, or with effectiveSettings what counts for it.
func ListSettings(_ context.Context, r *call.Request, in *types.ListAccountSettingsInput) (*types.ListAccountSettingsOutput, error) {
	principal, err := parsePrincipal(r, in.PrincipalARN)
	if err != nil {
		return nil, err
	}
	if in.Name != "" {
		if _, err := findSetting(in.Name); err != nil {
			return nil, err
		}
	}
	limited, err := paging.WithLimit(in.Paging, maxSettings)
	if err != nil {
		return nil, err
	}
	page, next, err := paging.Cut(limited, selectSettings(r, principal, in), false, func(s types.Setting) string { return s.Name })
	if err != nil {
		return nil, err
	}
	return &types.ListAccountSettingsOutput{Settings: call.NonNil(page), NextToken: next}, nil
}

func selectSettings(r *call.Request, principal string, in *types.ListAccountSettingsInput) []types.Setting {
	var found []types.Setting
	for _, setting := range accountSettings {
		chosen := accountsetting.Find(r.View, principal, setting.name)
		if chosen == nil && !in.EffectiveSettings || in.Name != "" && in.Name != setting.name {
			continue
		}
		out := setting.output(principal, effectiveSetting(r, principal, setting))
		if in.Value == "" || in.Value == out.Value {
			found = append(found, out)
		}
	}
	return found
}
