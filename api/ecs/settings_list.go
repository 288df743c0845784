package ecs

import "context"

// maxSettings is ECS's limit of settings in one answer, and the default.
const maxSettings = 10

type listSettingsInput struct {
	paging
	Name      string `json:"name"`
	Value     string `json:"value"`
	Principal string `json:"principalArn"`
	Effective bool   `json:"effectiveSettings"`
}

type listSettingsOutput struct {
	Settings  []shownSetting `json:"settings"`
	NextToken string         `json:"nextToken,omitempty"`
}

// listAccountSettings lists what a principal chose, or with effectiveSettings what counts for it.
func (c *Request) listAccountSettings(_ context.Context, in *listSettingsInput) (*listSettingsOutput, error) {
	principal, err := c.parsePrincipal(in.Principal)
	if err != nil {
		return nil, err
	}
	if in.Name != "" {
		if _, err := findSetting(in.Name); err != nil {
			return nil, err
		}
	}
	paging, err := in.withLimit(maxSettings)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(paging, c.selectSettings(principal, in), false, func(s shownSetting) string { return s.Name })
	if err != nil {
		return nil, err
	}
	return &listSettingsOutput{nonNil(page), next}, nil
}

func (c *Request) selectSettings(principal string, in *listSettingsInput) []shownSetting {
	var found []shownSetting
	for _, setting := range accountSettings {
		chosen := c.View.AccountSetting(principal, setting.name)
		if chosen == nil && !in.Effective || in.Name != "" && in.Name != setting.name {
			continue
		}
		shown := setting.shown(principal, c.effectiveSetting(principal, setting))
		if in.Value == "" || in.Value == shown.Value {
			found = append(found, shown)
		}
	}
	return found
}
