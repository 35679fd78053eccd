"""What Python's huggingface_hub fetches from a hub, finds in a cache, and pushes."""

import hashlib
import os

from answering import answer


def sums(folder):
    return {
        name: hashlib.sha256(open(os.path.join(folder, name), "rb").read()).hexdigest()
        for name in sorted(os.listdir(folder))
    }


def fetch(request):
    from huggingface_hub import ModelCard, scan_cache_dir, snapshot_download

    folder = snapshot_download(request["name"], token=request["token"])
    found = {
        "folder": folder,
        "files": sums(folder),
        "warnings": [str(warning) for warning in scan_cache_dir().warnings],
    }
    if request.get("readsCard"):
        data = ModelCard.load(os.path.join(folder, "README.md")).data
        found["card"] = {"base": data.base_model, "library": data.library_name}
    return found


def push(request):
    from huggingface_hub import HfApi

    api = HfApi(token=request["token"])
    api.create_repo(request["name"], exist_ok=True)
    commit = api.upload_folder(repo_id=request["name"], folder_path=request["folder"])
    return {"commit": commit.oid}


def respond(request):
    # The package reads them once, when it is imported.
    os.environ["HF_ENDPOINT"] = request["endpoint"]
    os.environ["HF_HUB_CACHE"] = request["cache"]
    os.environ["HF_HUB_OFFLINE"] = "1" if request["offline"] else "0"
    os.environ["HF_HUB_DISABLE_XET"] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    return {"fetch": fetch, "push": push}[request["action"]](request)


answer(respond)
