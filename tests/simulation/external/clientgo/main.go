// An operator with client-go: it makes a Secret for each ConfigMap with the label "app".
//
// First it notes in an annotation of the ConfigMap that it has begun. With BROKEN set, it makes no Secret if this note is
// there. So if it was killed between the two writes, the Secret is never made.
package main

import (
	"context"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const begun = "example.com/begun"

func main() {
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		panic(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "app" }))
	informer := factory.Core().V1().ConfigMaps()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	enqueue := func(obj any) {
		if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
			queue.Add(key)
		}
	}
	informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	factory.Start(ctx.Done())
	for !informer.Informer().HasSynced() {
		time.Sleep(10 * time.Millisecond)
	}
	sync := func(key string) error {
		namespace, name, _ := cache.SplitMetaNamespaceKey(key)
		app, err := informer.Lister().ConfigMaps(namespace).Get(name)
		if err != nil {
			return nil
		}
		if _, noted := app.Annotations[begun]; !noted {
			patch := []byte(`{"metadata":{"annotations":{"` + begun + `":"true"}}}`)
			_, err := client.CoreV1().ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			if err != nil {
				return err
			}
		} else if os.Getenv("BROKEN") != "" {
			return nil
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err = client.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
		if errors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	for {
		key, _ := queue.Get()
		if err := sync(key); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
