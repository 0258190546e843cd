package kube

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Check finds out whether the API server can be reached and whether this gateway
// may do there what a Launcher does (section 14.3). It blocks for a few exchanges.
// Errors, all that there are, each with what to do about it.
func (c *Cluster) Check(ctx context.Context) error {
	var wrong error
	for _, verb := range []string{"create", "delete", "get", "list", "watch"} {
		allowed, why, err := c.may(ctx, verb)
		switch {
		case err != nil:
			return fmt.Errorf("the API server of the cluster cannot be asked: %w", err)
		case !allowed:
			wrong = errors.Join(wrong, fmt.Errorf("this gateway may not %s pods in namespace %s: bind its service account to the Role of the Helm chart%s",
				verb, c.namespace, why))
		}
	}
	return wrong
}

func (c *Cluster) may(ctx context.Context, verb string) (allowed bool, why string, err error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: c.namespace, Verb: verb, Resource: "pods"},
	}}
	err = again(ctx, callLimit, func(ctx context.Context) error {
		answer, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		allowed = answer.Status.Allowed
		if answer.Status.Reason != "" {
			why = " (" + answer.Status.Reason + ")"
		}
		return nil
	})
	return allowed, why, err
}
