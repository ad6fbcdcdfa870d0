"""Labels that are drawn on images, moved with them: masks, boxes, polygons and points.

``collect`` finds and checks what --labels names · ``images`` whose label it is · ``masks``,
``coco``, ``rle``, ``table`` one kind of file each · ``motion`` how one image moved · ``placed``
shapes put there · ``carry`` all labels of one image · ``account`` what became of them.
"""
