"""Labels that are drawn on images, moved with them: masks, boxes, polygons and points.

``collect`` finds and checks what --labels names · ``read`` opens it · ``images`` whose label it is
· ``masks``, ``coco``, ``rle``, ``table`` one kind of file each · ``motion`` how one image moved ·
``placed`` shapes put there · ``likeness`` no radiograph among them, nor elsewhere (``turned``), by
how much they say of it (``levels``) · ``carry`` all labels of one image · ``account`` what became
of them.
"""
